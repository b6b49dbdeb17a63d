/** The outcomes of the MCP client of a Computer. */
import type { Outcomes, Revision, Scenarios } from "./outcomes.ts"

/** Extensions, and a scenario that is younger than both revisions. */
const notRequired = {
  "json-schema-2020-12-preservation": "passes",
  "auth/client-credentials-jwt": {
    fails: ["client-credentials-grant-type", "client-credentials-jwt-verified"],
    reason: "extension: a person authorizes each MCP server; a token of another grant is configured in `headers`"
  },
  "auth/client-credentials-basic": {
    fails: ["client-credentials-basic-auth", "client-credentials-grant-type"],
    reason: "extension: a person authorizes each MCP server; a token of another grant is configured in `headers`"
  },
  "auth/enterprise-managed-authorization": {
    fails: ["complete-flow-jwt-bearer", "complete-flow-token-exchange"],
    reason: "extension: a Computer has no identity provider of an enterprise"
  },
  "auth/dpop": {
    fails: ["sep-1932-client-dpop-auth-scheme", "sep-1932-client-fresh-proof", "sep-1932-client-token-request-proof"],
    reason: "extension: tokens are bearer tokens"
  },
  "auth/dpop-nonce": {
    fails: [
      "sep-1932-client-as-nonce",
      "sep-1932-client-dpop-auth-scheme",
      "sep-1932-client-fresh-proof",
      "sep-1932-client-rs-nonce",
      "sep-1932-client-token-request-proof"
    ],
    reason: "extension: tokens are bearer tokens"
  },
  "auth/wif-jwt-bearer": {
    fails: ["wif-assertion-verified"],
    reason: "extension: a Computer has no workload identity"
  }
} satisfies Scenarios

/** The scenarios of both revisions. */
const shared = {
  tools_call: "passes",
  "auth/metadata-default": "passes",
  "auth/metadata-var1": "passes",
  "auth/metadata-var2": "passes",
  "auth/metadata-var3": "passes",
  "auth/basic-cimd": "passes",
  "auth/scope-from-www-authenticate": "passes",
  "auth/scope-from-scopes-supported": "passes",
  "auth/scope-omitted-when-undefined": "passes",
  "auth/scope-step-up": "passes",
  "auth/scope-retry-limit": "passes",
  "auth/token-endpoint-auth-basic": "passes",
  "auth/token-endpoint-auth-post": "passes",
  "auth/token-endpoint-auth-none": "passes",
  "auth/pre-registration": "passes"
} satisfies Scenarios

export const clientScenarios: Record<Revision, Outcomes> = {
  "2025-11-25": {
    required: {
      initialize: "passes",
      "elicitation-sep1034-client-defaults": "passes",
      "sse-retry": "passes",
      ...shared
    },
    notRequired
  },
  "2026-07-28": {
    required: {
      "request-metadata": "passes",
      "auth/resource-mismatch": "passes",
      "auth/offline-access-scope": "passes",
      "auth/offline-access-not-supported": "passes",
      "auth/authorization-server-migration": "passes",
      "auth/iss-supported": "passes",
      "auth/iss-not-advertised": "passes",
      "auth/iss-supported-missing": "passes",
      "auth/iss-wrong-issuer": "passes",
      "auth/iss-unexpected": "passes",
      "auth/iss-normalized": "passes",
      "auth/metadata-issuer-mismatch": "passes",
      "sep-2322-client-request-state": "passes",
      "http-standard-headers": "passes",
      "http-custom-headers": "passes",
      "http-invalid-tool-headers": "passes",
      "json-schema-ref-no-deref": "passes",
      ...shared
    },
    notRequired
  }
}
