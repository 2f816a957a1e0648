/**
 * What a page or style sheet refers to. `link`: a page to go to; `resource`: something loaded with the page; `contact`:
 * a host that is only told something (ping, preconnect); `base` and `refresh`: see their elements.
 */
export type ReferenceKind = 'link' | 'resource' | 'contact' | 'base' | 'refresh';

export interface Reference {
  kind: ReferenceKind;
  /** As written, entities decoded. */
  url: string;
  /** What refers to it, such as `<img src>`. */
  by: string;
  /** Place in the text, in UTF-16 units; that of the element where the reference stands in an attribute. */
  at: number;
}
