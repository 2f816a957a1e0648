#!/usr/bin/env bash
# Applies the chart of docferry, and the rollouts of helm 3 and 4, to a real Kubernetes control plane on loopback, whose
# pods are simulated: no container runs. Needs Go, kubectl and openssl; builds the rest once (build.sh). Not part of CI.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${XDG_CACHE_HOME:-$HOME/.cache}/docferry-ci/kube
port=${DOCFERRY_KUBE_PORT:-26443} # and the five after it
for program in go kubectl openssl; do
  command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 1; }
done
timeout 1500 "$here/build.sh" "$programs"
export HELM_PATH=${HELM_PATH:-$(dirname "$programs")/helm} HELM4_PATH=${HELM4_PATH:-$programs/helm}

data=$(mktemp -d)
pids=()
finish() {
  # The API server does not end by itself once etcd is gone.
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null || true
  rm -rf "$data"
}
trap finish EXIT

# run NAME COMMAND…: in the background, with a log of its own
run() {
  local name=$1
  shift
  "$@" >"$data/$name.log" 2>&1 &
  pids+=($!)
  disown $! # no word about its end
}

openssl genrsa -out "$data/account.key" 2048 2>/dev/null
openssl rsa -in "$data/account.key" -pubout -out "$data/account.pub" 2>/dev/null
token=$(openssl rand -hex 16)
umask 077
echo "$token,admin,admin,system:masters" >"$data/tokens.csv"
cat >"$data/kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{ name: test, cluster: { server: "https://127.0.0.1:$port", insecure-skip-tls-verify: true } }]
users: [{ name: admin, user: { token: "$token" } }]
contexts: [{ name: test, context: { cluster: test, user: admin } }]
current-context: test
CONFIG
export KUBECONFIG=$data/kubeconfig

etcd=http://127.0.0.1:$((port + 1))
peer=http://127.0.0.1:$((port + 2))
run etcd "$programs/etcd" --data-dir "$data/etcd" --unsafe-no-fsync \
  --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
  --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
# Without a kubelet nothing mounts tokens or reports the conditions of a node.
run apiserver "$programs/kube-apiserver" --etcd-servers="$etcd" --secure-port="$port" \
  --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
  --cert-dir="$data/apiserver" --token-auth-file="$data/tokens.csv" --authorization-mode=RBAC \
  --service-account-key-file="$data/account.pub" --service-account-signing-key-file="$data/account.key" \
  --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.0.0.0/24 \
  --disable-admission-plugins=ServiceAccount,TaintNodesByCondition
ready=
for _ in $(seq 200); do
  kubectl get --raw /readyz >/dev/null 2>&1 && ready=yes && break
  sleep 0.3
done
[ -n "$ready" ] || { tail -n 5 "$data/apiserver.log" >&2; exit 1; }

client=(--kubeconfig="$KUBECONFIG" --authentication-kubeconfig="$KUBECONFIG" --authorization-kubeconfig="$KUBECONFIG"
  --bind-address=127.0.0.1 --leader-elect=false)
run controllers "$programs/kube-controller-manager" "${client[@]}" --secure-port=$((port + 3)) --cert-dir="$data/controllers" \
  --service-account-private-key-file="$data/account.key" \
  --controllers=deployment-controller,replicaset-controller,disruption-controller,garbage-collector-controller,namespace-controller,serviceaccount-controller,endpointslice-controller
run scheduler "$programs/kube-scheduler" "${client[@]}" --secure-port=$((port + 4)) --cert-dir="$data/scheduler"
stages=$(go env GOMODCACHE)/sigs.k8s.io/kwok@v0.8.0/kustomize/stage
for stage in "$stages"/node/{fast,heartbeat}/*.yaml "$stages"/pod/fast/*.yaml; do
  [[ $stage == *kustomization* ]] || { echo ---; cat "$stage"; }
done >"$data/stages.yaml"
run kwok "$programs/kwok" --kubeconfig="$KUBECONFIG" --manage-all-nodes=true --config="$data/stages.yaml" \
  --server-address="127.0.0.1:$((port + 5))"
kubectl create -f - >/dev/null <<'NODE'
apiVersion: v1
kind: Node
metadata: { name: node-1, annotations: { kwok.x-k8s.io/node: fake }, labels: { kubernetes.io/hostname: node-1 } }
NODE
kubectl wait --for=condition=Ready node/node-1 --timeout=60s
timeout 1200 npx vitest run --project kube
