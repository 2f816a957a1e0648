export { attributesOf } from '../workflows/search-attributes.ts';
