const serverFiles: readonly (readonly [string, RegExp])[] = [
  ['settings of Apache', /(?:^|\/)\.ht(?:access|passwd|group|groups|digest)$/i],
  ['settings of PHP', /(?:^|\/)(?:\.user|php)\.ini$/i],
  ['settings of IIS', /(?:^|\/)(?:web\.config|global\.asax)$/i],
  ['a program of PHP', /\.(?:php\d?|phps|pht|phtml|phar)$/i],
  ['a program of CGI', /\.f?cgi$/i],
  ['a page with server-side includes', /\.(?:shtml?|stm)$/i],
  ['a program of ASP', /\.(?:aspx?|ashx|asmx|asa|cshtml|vbhtml)$/i],
  ['a program of JSP or ColdFusion', /\.(?:jspx?|jspf|cfml?|cfc)$/i],
];

/** What a file is that common web servers execute or read as settings, by its path; null for others. */
export function serverFile(path: string): string | null {
  return serverFiles.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
}
