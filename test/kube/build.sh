#!/usr/bin/env bash
# Builds what `npm run test:kube` needs, once: a Kubernetes control plane, kwok, which simulates pods, and helm 3 and 4.
# Takes Go, an open network or its module proxy, 2 GB of memory and eleven minutes on two busy cores. Usage: build.sh FOLDER
set -euo pipefail
out=${1:?usage: build.sh FOLDER}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/control-plane"
export GOBIN=$out CGO_ENABLED=0
version=v1.36.3
if [ ! -x "$out/etcd" ]; then
  package=k8s.io/component-base/version
  go build -p 2 -buildvcs=false -mod=mod -o "$out/control-plane" \
    -ldflags "-s -w -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=36" .
  for name in kube-apiserver kube-controller-manager kube-scheduler etcd; do ln -sf control-plane "$out/$name"; done
fi
[ -x "$out/kwok" ] || go install -p 2 sigs.k8s.io/kwok/cmd/kwok@v0.8.0
# Beside the folder, where .ci/run keeps it too.
[ -n "${HELM_PATH:-}" ] || [ -x "$out/../helm" ] ||
  GOBIN=$(dirname "$out") go install helm.sh/helm/v3/cmd/helm@v3.22.0
[ -n "${HELM4_PATH:-}" ] || [ -x "$out/helm" ] || go install -p 2 helm.sh/helm/v4/cmd/helm@v4.3.1
