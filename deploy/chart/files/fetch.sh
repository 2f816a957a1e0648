# Fetches the archive and its manifest to $SITE, checks one against the other, and unpacks. Runs with `sh -eu`; BusyBox
# has all it needs but curl: BusyBox's wget follows redirects to any host, and takes the token along.

url=${BUNDLE_URL%%\?*}
folder=${url%/*}

# As docferry reads it, without the newline that ends a file, and as curl's configuration quotes it.
token=$(printf %s "$BUNDLE_TOKEN" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//; s/[\\"]/\\&/g')

# A published address does not redirect. One that does could lead to another host, which must not see the token.
fetch() {
  printf '%s' "${token:+header = \"Authorization: Bearer $token\"}" |
    curl --config - --fail --silent --show-error --location --max-redirs 0 \
      --retry 5 --retry-connrefused --output "$2" "$1"
}

refuse() {
  echo "the bundle is refused: $1" >&2
  exit 1
}

# Whether the key signed the manifest: Ed25519 over its BLAKE2b-512, which minisign checks, or OpenSSL from 3.0 on.
signed_by() {
  if command -v minisign >/dev/null; then
    minisign -V -H -q -P "$1" -m "$SITE/.manifest.json" -x "$SITE/.signature" 2>/dev/null
    return
  fi
  sed -n 2p "$SITE/.signature" | base64 -d >"$SITE/.signed"
  [ "$(head -c 2 "$SITE/.signed")" = ED ] || return
  tail -c 64 "$SITE/.signed" >"$SITE/.raw"
  # The head of an Ed25519 key in DER (RFC 8410), before the last 32 bytes of the one in minisign's form.
  { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && printf %s "$1" | base64 -d | tail -c 32; } >"$SITE/.key"
  openssl dgst -blake2b512 -binary -out "$SITE/.digest" "$SITE/.manifest.json"
  openssl pkeyutl -verify -pubin -keyform DER -inkey "$SITE/.key" -rawin -in "$SITE/.digest" -sigfile "$SITE/.raw" >/dev/null 2>&1
}

require_signature() {
  command -v minisign >/dev/null || command -v openssl >/dev/null ||
    refuse "nothing here can check its signature: name an image with minisign or OpenSSL in images.fetch, or empty bundleSignature.publicKeys"
  [ -n "$BUNDLE_VERSION" ] || refuse "older versions are signed too: set staticExport.version"
  fetch "$folder/manifest.json.minisig" "$SITE/.signature"
  for key in $BUNDLE_KEYS; do
    if signed_by "$key"; then return; fi
  done
  refuse "no key of bundleSignature.publicKeys has signed $folder/manifest.json"
}

fetch "$folder/manifest.json" "$SITE/.manifest.json"
[ -z "$BUNDLE_KEYS" ] || require_signature
# docferry writes one field a line; a name in the list of files cannot look like one, as its quotes are escaped.
sha256=$(sed -n '/^  "archive": {$/,/^  }/s/^    "sha256": "\([0-9a-f]\{64\}\)",\{0,1\}$/\1/p' "$SITE/.manifest.json")
version=$(sed -n 's/^  "version": "\([^"]*\)",\{0,1\}$/\1/p' "$SITE/.manifest.json")
[ ${#sha256} -eq 64 ] || refuse "there is no SHA-256 in $folder/manifest.json"
[ -z "$BUNDLE_VERSION" ] || [ "$version" = "$BUNDLE_VERSION" ] ||
  refuse "$folder/manifest.json is of version $version, not of $BUNDLE_VERSION"

archive=$SITE/.archive
fetch "$BUNDLE_URL" "$archive"
[ "$(sha256sum "$archive" | cut -d ' ' -f 1)" = "$sha256" ] || refuse "its SHA-256 is not the one in its manifest"

rm -rf "$SITE/html"
mkdir "$SITE/html"
case $url in
  *.zip) unzip -q "$archive" -d "$SITE/html" ||
    refuse "its unzip cannot read it: if that is BusyBox's and the zip has 64-bit forms, use an image with Info-ZIP's" ;;
  *.tar) tar -xf "$archive" -C "$SITE/html" ;;
  *) tar -xzf "$archive" -C "$SITE/html" ;;
esac
rm -f "$archive" "$SITE/.manifest.json" "$SITE/.signature" "$SITE/.signed" "$SITE/.raw" "$SITE/.key" "$SITE/.digest"
# The server runs as the user that unpacks.
closed=$(find "$SITE/html" \( -type d ! -perm -500 -o -type f ! -perm -400 \) | sed -n 1p)
[ -z "$closed" ] || refuse "the server cannot read $closed"
test -f "$SITE/html/index.html"
