/**
 * What a page or style sheet refers to. `link`: a page to go to; `resource`: something loaded with the page; `contact`: a
 * host that is only contacted (ping, preconnect); `base` and `refresh`: the elements of that name.
 */
export type ReferenceKind = 'link' | 'resource' | 'contact' | 'base' | 'refresh';

export interface Reference {
  kind: ReferenceKind;
  /** As written, entities decoded. */
  url: string;
  /** The element or rule that refers to it, such as `<img src>`. */
  by: string;
  /** Offset in the text, in UTF-16 units; that of the element when the reference is in an attribute. */
  at: number;
}
