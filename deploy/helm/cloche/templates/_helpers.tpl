{{- define "cloche.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cloche.selector" -}}
app.kubernetes.io/name: cloche
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service
{{- end -}}

{{- define "cloche.labels" -}}
{{ include "cloche.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{/* cloche.yml: what the chart sets, and over it what the operator sets. */}}
{{- define "cloche.config" -}}
{{- $kubernetes := dict "namespace" .Values.sandboxes.namespace "agent_image" (required "agentImage is required" .Values.agentImage) -}}
{{- with .Values.sandboxes.imagePullPolicy }}{{ $_ := set $kubernetes "image_pull_policy" . }}{{ end -}}
{{- with .Values.sandboxes.imagePullSecrets }}{{ $_ := set $kubernetes "image_pull_secrets" . }}{{ end -}}
{{- with .Values.sandboxes.nodeSelector }}{{ $_ := set $kubernetes "node_selector" . }}{{ end -}}
{{- with .Values.sandboxes.tolerations }}{{ $_ := set $kubernetes "tolerations" . }}{{ end -}}
{{- $server := dict "listen" (list "0.0.0.0:8080") "auth" "tokens" -}}
{{- if .Values.tlsSecret }}{{ $_ := set $server "tls" (dict "certificate" "/etc/cloche/tls/tls.crt" "key" "/etc/cloche/tls/tls.key") }}{{ end -}}
{{- $session := dict "image" .Values.sandboxes.image -}}
{{- with .Values.sandboxes.runtimeClassName }}{{ $_ := set $session "runtime" . }}{{ end -}}
{{- $set := dict "backend" "kubernetes" "kubernetes" $kubernetes "server" $server "profiles" (dict "session" $session) -}}
{{- toYaml (mergeOverwrite $set (deepCopy .Values.config)) -}}
{{- end -}}
