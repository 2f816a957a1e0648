/** Leads to the overview from the console's own site, so that the browser sends the session along. */
export function SignedInPage() {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="refresh" content="0;url=/" />
        <title>Signed in · docferry</title>
        <link rel="icon" href="/icon.svg" />
      </head>
      <body>
        <main>
          <h1>Signed in</h1>
          <p>
            <a href="/">Overview</a>
          </p>
        </main>
      </body>
    </html>
  );
}
