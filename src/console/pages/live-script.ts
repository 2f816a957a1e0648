/**
 * The only script. It keeps ages true, shows times in the reader's time zone, copies versions and handles a few keys. When
 * the server reports a change, it loads the page again and replaces the marked parts, except where the reader is
 * writing. Without the script every page is complete, as it was when it was loaded.
 */
export const liveScript = `'use strict';
// In English, like the page around it, not in the browser's language.
const format = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
const isUtc = new Date().getTimezoneOffset() === 0;
const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
function ago(at) {
  const now = Date.now();
  const minutes = Math.floor(Math.abs(now - at) / 60000);
  if (minutes >= 43200) return null;
  if (minutes < 1) return at > now ? 'in a moment' : 'just now';
  const span = minutes < 60 ? minutes + ' min' : minutes < 2880 ? Math.floor(minutes / 60) + ' h' : Math.floor(minutes / 1440) + ' d';
  return at > now ? 'in ' + span : span + ' ago';
}
function writeAges(within) {
  for (const time of within.querySelectorAll('time')) {
    const text = ago(Date.parse(time.dateTime)) ?? time.textContent;
    time.textContent = 'lasting' in time.dataset ? text.replace(/^(.+) ago$/, 'for $1') : text;
  }
}
function writeTimes(within) {
  writeAges(within);
  if (isUtc) return;
  for (const text of within.querySelectorAll('.zone')) text.textContent = 'Exact times are in your time zone and in UTC.';
  for (const text of within.querySelectorAll('.hour')) text.textContent = hour.format(new Date(text.dataset.at));
  for (const time of within.querySelectorAll('time')) time.title = format.format(new Date(time.dateTime)) + ' · ' + time.title;
}
function isUsed(part) {
  const active = document.activeElement;
  if (part.contains(active) && active.matches('input:not([type=checkbox]), textarea, select')) return true;
  if ([...part.querySelectorAll('option')].some((option) => option.selected !== isFirst(option))) return true;
  return [...part.querySelectorAll('textarea, input[type=text], input[type=number]')].some((field) => field.value !== field.defaultValue);
}
function isFirst(option) {
  const options = [...option.closest('select').options];
  return option === (options.find((one) => one.defaultSelected) ?? options[0]);
}
function nameOf(details) {
  return details.id || details.querySelector('summary').textContent;
}
// By what an element is the same in the part that replaces its own: focus must not move to what does something else.
function markOf(one) {
  if (one.matches('summary')) return nameOf(one.parentElement);
  return one.id || one.getAttribute('href') || [one.form?.getAttribute('action'), one.name, one.value].join(' ');
}
function replace(part, fresh) {
  const ticked = new Set([...part.querySelectorAll('input[type=checkbox]:checked')].map((box) => box.name + ' ' + box.value));
  const open = new Map([...part.querySelectorAll('details')].map((one) => [nameOf(one), one.open]));
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const alike = (within) => focused && [...within.querySelectorAll(focused.localName)].filter((one) => markOf(one) === markOf(focused));
  const place = alike(part)?.indexOf(focused);
  for (const box of fresh.querySelectorAll('input[type=checkbox]')) box.checked = ticked.has(box.name + ' ' + box.value);
  for (const one of fresh.querySelectorAll('details')) one.open = open.get(nameOf(one)) ?? one.open;
  part.replaceWith(fresh);
  alike(fresh)?.[place]?.focus({ preventScroll: true });
}
let loading = false;
let again = false;
async function load() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { cache: 'no-store', redirect: 'error', headers: { 'x-docferry-live': '1' } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      const fresh = page.getElementById(part.id);
      if (fresh === null || isUsed(part)) continue;
      const next = document.importNode(fresh, true);
      writeTimes(next);
      if (next.innerHTML !== part.innerHTML) replace(part, next);
    }
  } catch {
    // The next event tries again; without events the page says so.
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(load, 1000);
    }
  }
}
function step(by) {
  const links = [...document.querySelectorAll('main tbody th[scope=row] a, .hits .page-of a')].filter((one) => one.offsetParent !== null);
  const row = document.activeElement.closest('tr, .hits > li');
  const at = links.findIndex((link) => row?.contains(link));
  links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))]?.focus();
}
const keys = {
  '/': () => document.querySelector('main input[type=search]')?.focus(),
  '?': () => document.getElementById('keys')?.showModal(),
  j: () => step(1),
  k: () => step(-1),
  x: () => document.activeElement.closest('tr')?.querySelector('.select input')?.click(),
};
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input:not([type=checkbox]), textarea, select')) return;
  if (!Object.hasOwn(keys, event.key) || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  keys[event.key]();
});
addEventListener('click', async ({ target }) => {
  const version = target.closest('[data-copy]');
  const text = version?.lastElementChild;
  if (!version || text.textContent === 'copied') return;
  try {
    const before = text.textContent;
    await navigator.clipboard.writeText(version.dataset.copy);
    text.textContent = 'copied';
    setTimeout(() => (text.textContent = before), 1200);
  } catch {
    // The browser forbids it, or the page came without TLS: the reader can still select the name.
  }
});
writeTimes(document);
setInterval(() => writeAges(document), 30000);
const from = document.body.dataset.events;
let events = null;
// Whether nothing can have changed unheard.
let isNew = true;
let failed = false;
function sayUncertain() {
  const aged = document.getElementById('aged');
  if (aged.querySelector('.unheard')) return;
  aged.innerHTML = '<div class="notice unheard" role="status"><p>This page gets no updates now and may be out of date. It tries again each minute; <a href="">load it again</a>.</p></div>';
}
function leave() {
  isNew = false;
  events?.close();
}
// A browser allows six connections to a host where there is no HTTP/2: a hidden page needs none.
function follow() {
  if (document.hidden) return leave();
  if (events !== null && events.readyState !== 2) return;
  events = new EventSource(from);
  events.addEventListener('change', load);
  events.addEventListener('open', () => {
    if (!isNew) load();
    isNew = failed = false;
  });
  // The browser itself tries again where it is not refused: one failure is a restart, or a laptop that wakes up.
  events.addEventListener('error', ({ target }) => {
    const isRefused = target.readyState === 2;
    if (isRefused || failed) sayUncertain();
    if (isRefused) setTimeout(follow, 60000);
    failed = true;
    isNew = false;
  });
}
if (from && 'EventSource' in window) {
  for (const name of ['pageshow', 'visibilitychange']) addEventListener(name, follow);
  addEventListener('pagehide', leave);
}
`;
