import { describe, expect, it } from 'vitest';
import { feedbackAddress, feedbackQuery } from '../../../src/console/readings/feedback-query.ts';

const read = (address: string) => feedbackQuery(new URL(address, 'http://x').searchParams);

describe('the address of the feedback page', () => {
  it.each([
    '/feedback',
    '/feedback?words=%22time+out%22+%F0%9F%99%82&org=acme&project=prj_1&source=agent&status=open&helpful=no',
    '/feedback?document=%2Fguides%2Finstall%3Fx%23y&from=2026-11-01&to=2026-11-21T10%3A00%3A00Z',
    '/feedback?since=2026-11-21T10%3A00%3A00.000Z&by=document&after=a.b',
  ])('holds all that is asked for: %s', (address) => {
    expect(feedbackAddress(read(address))).toBe(address);
  });

  it('leaves out what is empty, blank or unknown', () => {
    expect(feedbackAddress(read('/feedback?words=+%20&project=&nonsense=1&__proto__=x'))).toBe('/feedback');
  });

  it.each([
    ['helpful=maybe', '"helpful" is "maybe": it must be yes, no, none or nothing'],
    ['by=page', '"by" is "page": it must be document or nothing'],
    ['since=yesterday', '"since" is "yesterday": it must be a date or a moment in ISO 8601'],
    ['from=2026-02-30', /^"from" is "2026-02-30": it .*ISO 8601/],
    ['to=21.11.2026', /^"to" is "21.11.2026": it /],
    ['from=2026-11-21&to=2026-11-01', /^"(from|to)" is /],
    [`words=${'x'.repeat(1_001)}`, '"words" is longer than 1000 characters'],
    [`after=${'x'.repeat(4_001)}`, '"after" is longer than 4000 characters'],
  ])('is refused with the field and what it may hold: %s', (address, message) => {
    expect(() => read(`/feedback?${address}`)).toThrow(message);
  });
});
