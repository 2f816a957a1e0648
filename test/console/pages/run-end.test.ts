import { describe, expect, it } from 'vitest';
import { Outcome, Why } from '../../../src/console/pages/parts.tsx';
import { hostile } from '../../tools/console/fake-setting.ts';

const why = (reason: string): string => String(Why({ reason }));

describe('why a run ended', () => {
  it('says the reason without the code for scripts', () => {
    expect(why('JobFailed: the service has failed')).toBe('<bdi>The service has failed.</bdi>');
    expect(why('no worker answers')).toBe('<bdi>No worker answers.</bdi>');
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
