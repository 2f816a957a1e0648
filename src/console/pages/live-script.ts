/**
 * The only script. It writes moments in the reader's time zone, and while the server says that something has changed,
 * it loads the page again and replaces the parts that are marked, unless the reader is writing there. Without the
 * script every page is complete, as it was when it was loaded.
 */
export const liveScript = `'use strict';
const format = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
const isUtc = new Date().getTimezoneOffset() === 0;
const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
function writeTimes(within) {
  if (isUtc) return;
  for (const text of within.querySelectorAll('.zone')) text.textContent = 'Times are in your time zone, with UTC beside them.';
  for (const text of within.querySelectorAll('.hour')) text.textContent = hour.format(new Date(text.dataset.at));
  for (const time of within.querySelectorAll('time:not(.zoned)')) {
    const local = document.createElement('span');
    local.textContent = format.format(new Date(time.dateTime));
    time.prepend(local, ' ');
    time.classList.add('zoned');
  }
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
function replace(part, fresh) {
  const ticked = new Set([...part.querySelectorAll('input[type=checkbox]:checked')].map((box) => box.name + ' ' + box.value));
  const open = new Map([...part.querySelectorAll('details')].map((one) => [nameOf(one), one.open]));
  const focused = part.contains(document.activeElement) ? document.activeElement.id : '';
  for (const box of fresh.querySelectorAll('input[type=checkbox]')) box.checked = ticked.has(box.name + ' ' + box.value);
  for (const one of fresh.querySelectorAll('details')) one.open = open.get(nameOf(one)) ?? one.open;
  part.replaceWith(fresh);
  if (focused !== '') document.getElementById(focused)?.focus({ preventScroll: true });
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
    // The next event tries again.
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(load, 1000);
    }
  }
}
writeTimes(document);
const from = document.body.dataset.events;
if (from && 'EventSource' in window) {
  const events = new EventSource(from);
  events.addEventListener('change', load);
  addEventListener('pagehide', () => events.close());
}
`;
