/**
 * The page's only script: filters the comments. It reads and hides elements, creates none and stores nothing; without it
 * the forms stay hidden and every list is complete.
 */
export const filterScript = `'use strict';
for (const form of document.querySelectorAll('form.filters')) {
  const items = [...document.getElementById(form.dataset.list).children].map((item) => ({
    item,
    source: item.dataset.source,
    status: item.dataset.status,
    page: item.dataset.page.toLowerCase(),
    text: item.querySelector('blockquote').textContent.toLowerCase(),
  }));
  const shown = form.querySelector('.shown');
  const whole = shown.textContent;
  const apply = () => {
    const { source, status, page, text } = form.elements;
    let count = 0;
    for (const entry of items) {
      const fits =
        (source.value === '' || source.value === entry.source) &&
        (status.value === '' || status.value === entry.status) &&
        entry.page.includes(page.value.trim().toLowerCase()) &&
        entry.text.includes(text.value.trim().toLowerCase());
      entry.item.hidden = !fits;
      if (fits) count += 1;
    }
    shown.textContent = count === items.length ? whole : count + ' of ' + whole;
  };
  form.addEventListener('input', apply);
  form.addEventListener('reset', () => setTimeout(apply));
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
  apply();
}
`;
