import { jsx } from 'hono/jsx';
import { describe, expect, it } from 'vitest';
import { ChangesPage } from '../../../src/console/pages/changes-page.tsx';
import { htmlOf } from '../../../src/console/routes/answers.tsx';
import type { VersionChanges } from '../../../src/exports/verify/compare-pages.ts';
import { hostile } from '../../tools/console/fake-setting.ts';

const site = { org: 'acme', domain: 'docs.acme.example', targets: [] };
const viewer = { login: 'ada', mayAct: true, seesContacts: false, whyNot: null, formToken: 't', note: null };
const version = (name: string) => ({ version: name, contentDigest: name, files: 1, pages: 1, bytes: 10 });
const none = { added: 0, removed: 0, changed: 0, moved: 0, unchanged: 0 };
const changes: VersionChanges = {
  from: version('v1'),
  to: version('v2'),
  counts: { files: none, pages: { ...none, changed: 2 } },
  pages: { added: [], removed: [], changed: [hostile, 'b.html'], moved: [] },
  texts: [
    {
      path: hostile,
      parts: [
        { kind: 'removed', text: hostile },
        { kind: 'added', text: `new ${hostile}` },
        { kind: 'skipped', lines: 7 },
      ],
    },
    { path: 'b.html', parts: [] },
  ],
  without: null,
};

const shown = (parts: Partial<Parameters<typeof ChangesPage>[0]>, looking = viewer): string =>
  htmlOf(jsx(ChangesPage, { site, changes, waiting: null, ...parts }), { viewer: looking, read: null });

describe('the page of what a version changes', () => {
  it('shows hostile pages and texts as text', () => {
    const page = shown({});
    expect(page).toContain('&lt;script&gt;alert(2)&lt;/script&gt;');
    expect(page).not.toContain('<script>alert');
    expect(page).not.toContain('<img');
    expect(page).not.toContain('\u202e');
    expect(page).toContain('… 7 lines');
    expect(page).toContain('The text is the same; only the markup differs.');
  });

  it('offers what can be done with the version: approval while it waits, otherwise rolling back', () => {
    expect(shown({ waiting: 'v2' })).toMatch(/action="[^"]*\/approve"[\s\S]*action="[^"]*\/reject"/);
    expect(shown({ waiting: 'v2' })).not.toContain('/rollback"');
    expect(shown({ waiting: 'v3' })).toContain('action="/sites/acme/docs.acme.example/rollback"');
    expect(shown({ changes: { ...changes, to: version('v1') } })).not.toContain('action="/sites');
    expect(shown({}, { ...viewer, mayAct: false })).not.toContain('action="/sites');
  });

  it('leads from a changed page to its text, and from the top to the decision', () => {
    const page = shown({ waiting: 'v2' });
    expect(page).toContain('<a href="#text-1"><bdi>b.html</bdi></a>');
    expect(page).toContain('id="text-1"');
    expect(page).toMatch(/href="#decide-title"[\s\S]*id="decide-title"/);
    expect(shown({ waiting: 'v3' })).not.toContain('href="#decide-title"');
  });

  it('speaks of long pages only where some are left out', () => {
    expect(shown({})).toContain('All changed pages.');
    const three = { ...changes.counts, pages: { ...none, changed: 3 } };
    expect(shown({ changes: { ...changes, counts: three } })).toContain(
      '2 of 3 changed pages; long and very deeply nested pages, and those after the first 20, are named only.',
    );
  });

  it('says why no text is shown', () => {
    expect(shown({ changes: { ...changes, texts: [], without: 'the bundles are too large' } })).toContain(
      'No text is shown: the bundles are too large.',
    );
  });
});
