#!/usr/bin/env bash
# Runs the unit tests on another major version of Node: `scripts/test-on-node.sh 24`. Works on a copy of the files as they
# are here (git's ignored ones left out), so that native modules built for that version stay out of this checkout. The
# registry's package of Node brings the program and its headers.
set -euo pipefail
major=${1:?usage: scripts/test-on-node.sh <major>}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "no package of Node for $(uname -m)" >&2; exit 1 ;;
esac
package="node-$(uname | tr '[:upper:]' '[:lower:]')-$arch"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

npm install --silent --prefix "$folder" "$package@$major"
node="$folder/node_modules/$package"
export PATH="$node/bin:$PATH"
# Without it native modules are built against headers of another version, or not at all where none can be downloaded.
export npm_config_nodedir="$node"
# Deleted files that git still lists are left out.
copy="$folder/docferry"
mkdir "$copy"
git ls-files -z --cached --others --exclude-standard --deduplicate |
  while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
  tar --null --files-from=- --create | tar --extract --directory "$copy"

cd "$copy"
echo "Node $(node --version)"
npm ci --no-progress
npm run --silent build
npx vitest run --project unit
