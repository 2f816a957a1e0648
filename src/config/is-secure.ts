/** Whether nobody on the way can listen: `https://`, or this very machine. */
export function isSecure(url: URL): boolean {
  const { hostname } = url;
  return url.protocol === 'https:' || /^(localhost|.+\.localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}
