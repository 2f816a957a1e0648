# Fetches the archive and its manifest to $SITE, checks one against the other, and unpacks. Runs with `sh -eu`; BusyBox
# has all it needs but curl: BusyBox's wget follows redirects to any host, and takes the token along.

url=${BUNDLE_URL%%\?*}
folder=${url%/*}

# A published address does not redirect. One that does could lead to another host, which must not see the token.
fetch() {
  printf '%s' "${BUNDLE_TOKEN:+header = \"Authorization: Bearer $BUNDLE_TOKEN\"}" |
    curl --config - --fail --silent --show-error --location --max-redirs 0 \
      --retry 5 --retry-connrefused --output "$2" "$1"
}

refuse() {
  echo "the bundle is refused: $1" >&2
  exit 1
}

fetch "$folder/manifest.json" "$SITE/.manifest.json"
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
  *.zip) unzip -q "$archive" -d "$SITE/html" ;;
  *.tar) tar -xf "$archive" -C "$SITE/html" ;;
  *) tar -xzf "$archive" -C "$SITE/html" ;;
esac
rm "$archive" "$SITE/.manifest.json"
# The server runs as the user that unpacks.
closed=$(find "$SITE/html" \( -type d ! -perm -500 -o -type f ! -perm -400 \) | sed -n 1p)
[ -z "$closed" ] || refuse "the server cannot read $closed"
test -f "$SITE/html/index.html"
