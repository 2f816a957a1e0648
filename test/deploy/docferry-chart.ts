/** Values with which the chart of docferry can be installed. */
export const usableValues = {
  config: {
    temporal: { address: 'temporal-frontend.temporal:7233', namespace: 'docferry', failover: 'tolerant' },
    service: { baseUrl: 'https://docs-service.example' },
    organizations: [
      {
        id: 'acme',
        apiKey: `\${ACME_API_KEY}`,
        refresh: { every: '5m', share: '50%' },
        projects: [{ id: 'prj_1' }],
        sites: [{ domain: 'docs.acme.example', bundle: { maxFiles: 200_000 } }],
      },
    ],
    store: {
      feedback: `postgres://docferry:\${PG_PASSWORD}@db.acme.example:5432/docferry`,
      bundles: {
        s3: { bucket: 'acme-docs', workFolder: '/data/bundles-work' },
        publicUrl: 'https://bundles.acme.example',
      },
    },
  },
};

interface Probe {
  httpGet?: { path: string; port: string };
  tcpSocket?: { port: string };
}

export interface Container {
  args: string[];
  envFrom?: { secretRef: { name: string } }[];
  securityContext: object;
  volumeMounts: { name: string; mountPath: string }[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe & { periodSeconds: number; failureThreshold: number };
  livenessProbe: Probe;
  readinessProbe: Probe;
}

export interface PodSpec {
  terminationGracePeriodSeconds: number;
  initContainers?: Container[];
  containers: Container[];
  volumes: { name: string; secret?: { secretName: string } }[];
}

/** What tests read of a rendered resource. */
export interface Resource {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    template: { metadata: { annotations: Record<string, string> }; spec: PodSpec };
    policyTypes?: string[];
    ingress?: object[] | null;
    egress?: { ports: { port: number }[] }[];
  };
}
