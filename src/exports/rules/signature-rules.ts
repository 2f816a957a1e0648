import type { RuleText } from './structure-rules.ts';

/** Every rule of `export verify --signature`, by its stable name. */
export const signatureRuleTexts = {
  'signature-missing': rule('a manifest without its `.minisig` beside it', 'Its origin is unknown.'),
  'signature-malformed': rule('a signature that minisign does not write', 'It cannot be read.'),
  'signature-legacy': rule(
    'the older kind of signature, over the content itself',
    'minisign has not made it by default since 2021; one kind leaves no choice.',
  ),
  'signature-key': rule('a signature by another key than the one given', 'Another party signed it.'),
  'signature-invalid': rule(
    'a signature that does not match the manifest or its trusted comment',
    'One of them was changed after signing.',
  ),
  'manifest-missing': rule('an archive without its manifest beside it', 'The manifest is what is signed.'),
  'manifest-malformed': rule('a manifest that cannot be read', 'There is nothing to compare with.'),
  'manifest-unexpected': rule(
    'a manifest of another site or version than `--domain` and `--site-version` name',
    'The same key has signed other sites and older versions too.',
  ),
  'manifest-differs': rule(
    'an archive that is not the one the manifest names: SHA-256, size, format, content digest or files',
    'The signature says nothing about it.',
  ),
} as const satisfies Record<string, RuleText>;

export type SignatureRule = keyof typeof signatureRuleTexts;

function rule(refuses: string, why: string): RuleText {
  return { refuses, why, reference: '' };
}
