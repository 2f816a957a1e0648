import type { RuleText } from './structure-rules.ts';

/** Every rule of `export verify --signature`, by its stable name. */
export const signatureRuleTexts = {
  'signature-missing': rule('a manifest without its `.minisig` beside it', 'Nobody vouches for it.'),
  'signature-malformed': rule('a signature that is not as minisign writes it', 'What it says cannot be known.'),
  'signature-legacy': rule(
    'the older kind of signature, over the content itself',
    'minisign has not made it by default since 2021; one kind leaves no choice.',
  ),
  'signature-key': rule('a signature by another key than the one given', 'Somebody else vouches for it.'),
  'signature-invalid': rule(
    'a signature that is not that of the manifest, or of its trusted comment',
    'One of the two was changed after it was signed.',
  ),
  'manifest-missing': rule('an archive without its manifest beside it', 'The manifest is what is signed.'),
  'manifest-malformed': rule('a manifest that is no manifest', 'There is nothing to compare with.'),
  'manifest-differs': rule(
    'an archive that is not the one the manifest names: SHA-256, size, format, content digest or files',
    'The signature says nothing about it.',
  ),
} as const satisfies Record<string, RuleText>;

export type SignatureRule = keyof typeof signatureRuleTexts;

function rule(refuses: string, why: string): RuleText {
  return { refuses, why, reference: '' };
}
