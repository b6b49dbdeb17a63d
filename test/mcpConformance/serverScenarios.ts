/** The outcomes of a published office. */
import type { Outcomes, Revision } from "./outcomes.ts"

const noLogging =
  "an office passes no logging: MCP 2026-07-28 deprecates it, and the log of a Computer has the messages"
const noSampling = "an office passes no sampling: MCP 2026-07-28 deprecates it"
const noRoots = "an office passes no roots: MCP 2026-07-28 deprecates them"

export const serverScenarios: Record<Revision, Outcomes> = {
  "2025-11-25": {
    required: {
      "server-initialize": "passes",
      "logging-set-level": { fails: ["logging-set-level"], reason: noLogging },
      ping: "passes",
      "completion-complete": "passes",
      "tools-list": "passes",
      "tools-call-simple-text": "passes",
      "tools-call-image": "passes",
      "tools-call-audio": "passes",
      "tools-call-embedded-resource": "passes",
      "tools-call-mixed-content": "passes",
      "tools-call-with-logging": { fails: ["tools-call-with-logging"], reason: noLogging },
      "tools-call-error": "passes",
      "tools-call-with-progress": "passes",
      "tools-call-sampling": { fails: ["tools-call-sampling"], reason: noSampling },
      "tools-call-elicitation": "passes",
      "elicitation-sep1034-defaults": "passes",
      "server-sse-multiple-streams": "passes",
      "elicitation-sep1330-enums": "passes",
      "resources-list": "passes",
      "resources-read-text": "passes",
      "resources-read-binary": "passes",
      "resources-templates-read": "passes",
      "resources-subscribe": "passes",
      "resources-unsubscribe": "passes",
      "prompts-list": "passes",
      "prompts-get-simple": "passes",
      "prompts-get-with-args": "passes",
      "prompts-get-embedded-resource": "passes",
      "prompts-get-with-image": "passes",
      "dns-rebinding-protection": "passes"
    },
    notRequired: {
      "server-session-lifecycle": "passes",
      "json-schema-2020-12": "passes",
      "server-sse-polling": {
        fails: ["incoming-sse-event"],
        warns: ["server-sse-priming-event", "server-sse-retry-field"],
        reason:
          "the scenario closes the stream of a call: a tool behind an office has no stream. The response to a client that disconnected is not kept"
      }
    }
  },
  "2026-07-28": {
    required: {
      "server-stateless": {
        fails: ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"],
        reason: `${noSampling}; so no tool can require it of a client`
      },
      "completion-complete": "passes",
      "tools-list": "passes",
      "tools-call-simple-text": "passes",
      "tools-call-image": "passes",
      "tools-call-audio": "passes",
      "tools-call-embedded-resource": "passes",
      "tools-call-mixed-content": "passes",
      "tools-call-error": "passes",
      "tools-call-with-progress": "passes",
      "server-sse-multiple-streams": "passes",
      "resources-list": "passes",
      "resources-read-text": "passes",
      "resources-read-binary": "passes",
      "resources-templates-read": "passes",
      "sep-2164-resource-not-found": "passes",
      "prompts-list": "passes",
      "prompts-get-simple": "passes",
      "prompts-get-with-args": "passes",
      "prompts-get-embedded-resource": "passes",
      "prompts-get-with-image": "passes",
      "dns-rebinding-protection": "passes",
      caching: "passes",
      "input-required-result-basic-elicitation": "passes",
      "input-required-result-basic-sampling": { fails: ["sep-2322-sampling-incomplete"], reason: noSampling },
      "input-required-result-basic-list-roots": { fails: ["sep-2322-list-roots-incomplete"], reason: noRoots },
      "input-required-result-request-state": "passes",
      "input-required-result-multiple-input-requests": {
        fails: ["sep-2322-multiple-inputs-incomplete"],
        reason: `${noSampling}, nor roots; the scenario needs both beside a form`
      },
      "input-required-result-multi-round": "passes",
      "input-required-result-missing-input-response": "passes",
      "input-required-result-non-tool-request": {
        fails: ["sep-2322-non-tool-incomplete"],
        reason: "an office passes the questions of tools; those of a prompt are declined at its Computer"
      },
      "input-required-result-result-type": "passes",
      "input-required-result-unsupported-methods": "passes",
      "input-required-result-tampered-state": "passes",
      "input-required-result-capability-check": {
        fails: ["sep-2322-respect-client-capabilities"],
        reason: `${noSampling}; the scenario needs a question by sampling. The form is not sent either, as it should be`
      },
      "input-required-result-ignore-extra-params": {
        warns: ["sep-2322-ignore-unexpected-params"],
        reason:
          "the scenario answers before it is asked, without a requestState: a call of an office runs once and knows no answers before"
      },
      "input-required-result-validate-input": "passes"
    },
    notRequired: {
      "tasks-lifecycle": {
        fails: ["sep-2663-tasks-get-status-failed"],
        reason:
          "a Computer makes an error result of a protocol error of an MCP server, so that the model sees it; the task is completed"
      },
      "tasks-capability-negotiation": "passes",
      "tasks-wire-fields": "passes",
      "tasks-request-state-removal": "passes",
      "tasks-mrtr-input": {
        fails: ["tasks-mrtr-partial-fulfillment"],
        reason: "a Computer asks the questions of one call one after another"
      },
      "tasks-request-headers": "passes",
      "tasks-dispatch-and-envelope": "passes",
      "tasks-status-notifications": "passes",
      "tasks-required-task-error": {
        fails: ["sep-2663-server-returns-missing-capability-when-required"],
        reason: "no tool of an office requires a task: the scenario wants such a tool"
      },
      "tasks-mrtr-composition": {
        fails: ["sep-2663-mrtr-synchronous-before-task-creation"],
        reason: "a call that asks becomes a task at once for a client with tasks, and the task has the question"
      },
      "json-schema-2020-12": "passes",
      "http-header-validation": "passes",
      "http-custom-header-server-validation": {
        fails: [
          "sep-2243-server-decode-base64",
          "sep-2243-server-no-xmcp-tool",
          "sep-2243-server-reject-invalid-param-chars",
          "sep-2243-server-reject-param-mismatch",
          "sep-2243-server-validate-param-match"
        ],
        reason: "an office lists tools without `x-mcp-header`: their Computer sends the headers to the MCP server"
      }
    }
  }
}
