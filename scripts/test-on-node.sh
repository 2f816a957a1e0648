#!/usr/bin/env bash
# Runs the unit tests on another version of Node: `scripts/test-on-node.sh 24`, or `scripts/test-on-node.sh 24 24.18` to
# build native modules with the headers of the second version (docs/operations.md tells why). Works on a copy of the files
# as they are here (git's ignored ones left out), so that modules built for that version stay out of this checkout. The
# registry's package of Node brings the program and its headers.
set -euo pipefail
version=${1:?usage: scripts/test-on-node.sh <version> [<version of the headers>]}
headers=${2:-$version}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "no package of Node for $(uname -m)" >&2; exit 1 ;;
esac
package="node-$(uname | tr '[:upper:]' '[:lower:]')-$arch"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for wanted in "$version" "$headers"; do
  npm install --silent --prefix "$folder/$wanted" "$package@$wanted"
done
export PATH="$folder/$version/node_modules/$package/bin:$PATH"
# Without it native modules are built against headers of another version, or not at all where none can be downloaded.
export npm_config_nodedir="$folder/$headers/node_modules/$package"
copy="$folder/docferry"
mkdir "$copy"
# Deleted files that git still lists are left out.
git ls-files -z --cached --others --exclude-standard --deduplicate |
  while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
  tar --null --files-from=- --create | tar --extract --directory "$copy"

cd "$copy"
npm ci --no-progress
echo "Node $(node --version), headers of $("$npm_config_nodedir/bin/node" --version)"
npx vitest run --project unit
