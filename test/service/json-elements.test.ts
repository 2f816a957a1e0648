import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrayElementTexts } from '../../src/service/feedback-page.ts';

describe('arrayElementTexts', () => {
  it('returns every element as it was sent', () => {
    const text =
      '{ "a": [9], "feedback" : [ 12345678901234567890 , {"id": "x]\\"}", "b":[ ]},"," , [[]], null ] , "z": {"feedback": [1]} }';
    expect(arrayElementTexts(text, 'feedback')).toEqual([
      '12345678901234567890',
      '{"id": "x]\\"}", "b":[ ]}',
      '","',
      '[[]]',
      'null',
    ]);
  });

  it('is null where there is no such array', () => {
    expect(arrayElementTexts('{"feedback":{}}', 'feedback')).toBeNull();
    expect(arrayElementTexts('{}', 'feedback')).toBeNull();
    expect(arrayElementTexts('[1]', 'feedback')).toBeNull();
  });

  it('takes the last of several, as JSON.parse does', () => {
    expect(arrayElementTexts('{"feedback":[1],"\\u0066eedback":[2]}', 'feedback')).toEqual(['2']);
  });

  it('agrees with JSON.parse for any JSON', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.jsonValue(),
        fc.constantFrom(undefined, 1, '\t'),
        (list, other, space) => {
          const text = JSON.stringify({ before: other, feedback: list, after: other }, null, space);
          const elements = arrayElementTexts(text, 'feedback') ?? [];
          expect(elements.map((element) => JSON.parse(element))).toEqual(JSON.parse(JSON.stringify(list)));
        },
      ),
    );
  });
});
