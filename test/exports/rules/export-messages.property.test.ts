import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  readApproval,
  readExportInput,
  readPhase,
  readRejection,
  readRollbackInput,
} from '../../../src/exports/rules/export-messages.ts';
import { Misshapen } from '../../../src/rules/messages.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const odd = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>(undefined, null, 1e-300, 1e300, -1, '\ud800'));
const spoilt = fc
  .dictionary(fc.constantFrom('phase', 'version', 'reason'), odd)
  .map((fields): unknown => ({ phase: 'verifying', version: 'v1', reason: 'wrong', ...fields }));

describe('messages to an export of any shape (X5)', () => {
  it('are refused, or make sense', () => {
    fc.assert(
      fc.property(fc.oneof(odd, spoilt), (input) => {
        for (const read of [readPhase, readApproval, readRejection]) {
          try {
            const message = read(input);
            assert.ok(Object.values(message).every((value) => typeof value === 'string'));
          } catch (error) {
            assert.ok(error instanceof Misshapen, `${error}`);
          }
        }
      }),
      { numRuns: propertyRuns(3_000) },
    );
  });

  it('say what a rejection lacks', () => {
    expect(() => readRejection(undefined)).toThrow('reason: expected a text');
    expect(() => readApproval({ version: 5 })).toThrow('version: expected a text');
    expect(() => readPhase({ phase: 'baking' })).toThrow('phase: expected one of starting');
    expect(readApproval(undefined)).toEqual({});
  });

  it('refuse what they do not know, where a person decides', () => {
    const back = { org: 'acme', domain: 'docs.acme.example', version: 'v1', reason: null };
    expect(readRollbackInput(back)).toEqual(back);
    expect(() => readRollbackInput({ ...back, Version: 'v2' })).toThrow('Version: expected no such field, only org, ');
    const start = { org: 'acme', domain: 'docs.acme.example', parameters: {} };
    expect(readExportInput({ ...start, ofANewerVersion: 1 })).toEqual(start);
    expect(() => readExportInput({ ...start, parameters: { path: ['/a'] } })).toThrow(
      'parameters.path: expected no such',
    );
  });
});
