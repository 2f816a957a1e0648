export { DocferryProcess } from '../../scripts/docferry-process.ts';
