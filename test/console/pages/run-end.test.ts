import { describe, expect, it } from 'vitest';
import { Outcome, Why } from '../../../src/console/pages/parts.tsx';
import { hostile } from '../../tools/console/fake-setting.ts';

const why = (reason: string): string => String(Why({ reason }));

describe('why a run ended', () => {
  it('says the reason first, and then the code', () => {
    expect(why('JobFailed: the service has failed')).toBe(
      '<bdi>The service has failed.</bdi> <span class="fine">JobFailed</span>',
    );
    expect(why('no worker answers')).toBe('<bdi>No worker answers.</bdi>');
  });

  it('leaves a person’s words as they are, and the code out', () => {
    expect(why('not-approved: prices: wrong')).toBe('<bdi>prices: wrong</bdi>');
  });

  it('takes the code from behind each target that was not reached', () => {
    expect(why('directory:./a: RolloutFailed: no room; helmValues:b.yaml: RolloutFailed: no file')).toBe(
      '<bdi>directory:./a: no room; helmValues:b.yaml: no file.</bdi> <span class="fine">RolloutFailed</span>',
    );
  });

  it('shows hostile text as text', () => {
    const shown = why(`JobFailed: ${hostile}`);
    expect(shown).not.toContain('<img');
    expect(shown).not.toContain('\u202e');
  });
});

describe('how a run ended', () => {
  it.each([
    ['rolled-back', false, '<span class="state good">rolled back</span>'],
    ['rejected', false, '<span class="state">rejected</span>'],
    ['rejected', true, '<span class="state bad">rejected</span>'],
    ['cancelled', false, '<span class="state">cancelled</span>'],
  ])('%s, bad: %s', (outcome, isBad, shown) => expect(String(Outcome({ outcome, isBad }))).toBe(shown));
});
