#!/usr/bin/env bash
# Runs the unit tests and the demo on another version of Node: `scripts/test-on-node.sh 26`, or 26.10.0. Works
# on a copy of the files as they are here (git's ignored ones left out), so that its modules stay out of this checkout.
# The registry's package of Node brings the program.
set -euo pipefail
version=${1:?usage: scripts/test-on-node.sh <version>}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "no package of Node for $(uname -m)" >&2; exit 1 ;;
esac
package="node-$(uname | tr '[:upper:]' '[:lower:]')-$arch"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

npm install --silent --prefix "$folder/node" "$package@$version"
export PATH="$folder/node/node_modules/$package/bin:$PATH"
copy="$folder/docferry"
mkdir "$copy"
# Deleted files that git still lists are left out.
git ls-files -z --cached --others --exclude-standard --deduplicate |
  while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
  tar --null --files-from=- --create | tar --extract --directory "$copy"

cd "$copy"
npm ci --no-progress --ignore-scripts
echo "Node $(node --version)"
npm run test:unit
npm run demo
