{{- define "docferry.name" -}}
{{- if contains "docferry" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-docferry" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end -}}

{{- define "docferry.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "docferry.name" .) }}
{{- end -}}

{{- define "docferry.selector" -}}
app.kubernetes.io/name: docferry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "docferry.labels" -}}
{{ include "docferry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* What runs, as JSON: {list: [{component, replicas, command, secrets, …}]}. Everything else is made from it. */}}
{{- define "docferry.processes" -}}
{{- $values := .Values -}}
{{- $metrics := list -}}
{{- if $values.metrics.enabled }}{{ $metrics = list "--metrics" (printf "0.0.0.0:%v" $values.metrics.port) }}{{ end -}}
{{- $list := list -}}
{{- range $kind := list "all" "short" "bulk" -}}
{{- $worker := index $values.workers $kind -}}
{{- $command := list "worker" "--health" "0.0.0.0:8091" -}}
{{- if ne $kind "all" }}{{ $command = concat $command (list "--only" $kind) }}{{ end -}}
{{- with $values.workers.deployment.name }}{{ $command = concat $command (list "--deployment" .) }}{{ end -}}
{{- with $values.workers.deployment.build }}{{ $command = concat $command (list "--build" .) }}{{ end -}}
{{- $component := ternary "worker" (printf "worker-%s" $kind) (eq $kind "all") -}}
{{- $list = append $list (dict "component" $component "isWorker" true "keys" true "temporal" true "replicas" $worker.replicas "resources" $worker.resources "secrets" $values.workers.secrets "command" (concat $command $metrics) "metrics" $values.metrics.enabled "health" "worker") -}}
{{- end -}}
{{- $list = append $list (dict "component" "bundles" "replicas" $values.bundles.replicas "resources" $values.bundles.resources "secrets" $values.bundles.secrets "command" (list "serve" "--bundle-host" "0.0.0.0" "--bundle-port" (toString $values.bundles.port)) "port" $values.bundles.port) -}}
{{- $list = append $list (dict "component" "gateway" "keys" true "temporal" true "replicas" $values.gateway.replicas "resources" $values.gateway.resources "secrets" $values.gateway.secrets "command" (concat (list "gateway" "--host" "0.0.0.0" "--port" (toString $values.gateway.port)) $metrics) "port" $values.gateway.port "metrics" $values.metrics.enabled) -}}
{{- $list = append $list (dict "component" "console" "temporal" true "replicas" $values.console.replicas "resources" $values.console.resources "secrets" $values.console.secrets "command" (list "console" "--host" "0.0.0.0" "--port" (toString $values.console.port) "--no-link") "port" $values.console.port) -}}
{{- $running := list -}}
{{- range $list }}{{ if gt (int .replicas) 0 }}{{ $running = append $running . }}{{ end }}{{ end -}}
{{- dict "list" $running | toJson -}}
{{- end -}}

{{/* Stops with a message where a configuration cannot work in pods. */}}
{{- define "docferry.check" -}}
{{- $store := .Values.config.store | default dict -}}
{{- $feedback := $store.feedback | default "sqlite:" -}}
{{- $s3 := ($store.bundles | default dict).s3 -}}
{{- if not .Values.data.existingClaim -}}
{{- if hasPrefix "sqlite:" $feedback }}{{ fail "config.store.feedback is a SQLite file, which ends with its pod: name a PostgreSQL database, or a claim in data.existingClaim" }}{{ end -}}
{{- if not $s3 }}{{ fail "config.store.bundles is a folder, which ends with its pod: name a bucket in config.store.bundles.s3, or a claim in data.existingClaim" }}{{ end -}}
{{- end -}}
{{- if and (hasPrefix "sqlite:" $feedback) (not (hasPrefix "sqlite:/data/" $feedback)) }}{{ fail "config.store.feedback, a SQLite file, has to be below /data/, for nothing else can be written to" }}{{ end -}}
{{- if and (not $s3) (not (hasPrefix "/data/" (($store.bundles | default dict).directory | default ""))) }}{{ fail "config.store.bundles.directory has to be below /data/, for nothing else can be written to" }}{{ end -}}
{{- if and $s3 (not (hasPrefix "/data/" ($s3.workFolder | default ""))) }}{{ fail "config.store.bundles.s3.workFolder has to be below /data/, for nothing else can be written to" }}{{ end -}}
{{- $console := .Values.config.console | default dict -}}
{{- if and (gt (int .Values.console.replicas) 0) (not $console.proxy) (not $console.oidc) }}{{ fail "nobody could sign in to the console: set config.console.proxy or config.console.oidc, or console.replicas to 0" }}{{ end -}}
{{- with .Values.workers -}}
{{- if and (eq (int .all.replicas) 0) (ne (gt (int .short.replicas) 0) (gt (int .bulk.replicas) 0)) }}{{ fail "workers.short and workers.bulk need each other: give both replicas, or workers.all" }}{{ end -}}
{{- end -}}
{{- range (include "docferry.processes" . | fromJson).list -}}
{{- $port := .port | default 8091 -}}
{{- if and .metrics (eq (int $port) (int $.Values.metrics.port)) }}{{ fail (printf "metrics.port is %v, %s: choose another" $port (ternary "where a worker answers /healthz" "gateway.port too" (empty .port))) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "docferry.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* What containers of a process have alike: call with {root, process}. */}}
{{- define "docferry.container" -}}
{{- $values := .root.Values -}}
image: {{ printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
env:
  - name: NO_COLOR
    value: "1"
  {{- range $name, $value := $values.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- with .process.secrets }}
envFrom:
  {{- range . }}
  - secretRef:
      name: {{ . | quote }}
  {{- end }}
{{- end }}
securityContext:
  {{- include "docferry.containerSecurity" .root | nindent 2 }}
volumeMounts:
  - name: config
    mountPath: /etc/docferry
    readOnly: true
  - name: data
    mountPath: /data
  - name: temporary
    mountPath: /tmp
  {{- if and .process.keys $values.secretFiles.existingSecret }}
  - name: secret-files
    mountPath: {{ $values.secretFiles.mountPath }}
    readOnly: true
  {{- end }}
  {{- if and .process.temporal $values.temporalFiles.existingSecret }}
  - name: temporal-files
    mountPath: {{ $values.temporalFiles.mountPath }}
    readOnly: true
  {{- end }}
  {{- if .process.isWorker }}
  {{- with $values.workers.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
{{- end -}}
