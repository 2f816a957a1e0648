# The worker and every other command of docferry. `up` is not for containers: its Temporal server stays outside.
# docs/operations.md tells how to deploy it.
ARG NODE_IMAGE=node:24.18.1-bookworm-slim@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM packages AS build
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY sandbox sandbox
COPY scripts scripts
COPY src src
RUN npm run build

FROM packages AS modules
# Temporal's and SQLite's packages bring their binaries for all platforms; this image needs its own.
RUN npm ci --omit=dev --ignore-scripts \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
    ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} + \
  && find node_modules/@photostructure/sqlite/prebuilds -mindepth 1 -maxdepth 1 \
    ! -name "linux-$(node --print process.arch)" -exec rm -r {} +

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
  DOCFERRY_CONFIG=/etc/docferry/docferry.yaml
WORKDIR /app
# Rollouts into repositories use git, and ssh where its addresses do.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
  && rm -rf /var/lib/apt/lists/*
COPY package.json LICENSE docferry.example.yaml ./
COPY --from=modules /app/node_modules node_modules
COPY --from=build /app/dist dist
RUN mkdir /data && chown 1000:1000 /data
VOLUME /data
# `node` of the base image, by number, so that a cluster can see that it is not root.
USER 1000:1000
# The process is the container's first and takes SIGTERM itself: it hands its work back and ends within 20 s.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8091/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/src/starter.js"]
CMD ["worker", "--health", "127.0.0.1:8091"]
