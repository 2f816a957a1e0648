export { DocferryProcess } from './docferry-child.ts';
