import type { ComputerPrompt } from "./PromptForm.tsx"
import { PromptForm } from "./PromptForm.tsx"
import { findOffice } from "../../../../domain/page/offices.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { partKey } from "../../../../domain/page/PageState.ts"
import { promptsIn } from "../../../../domain/page/prompts.ts"
import type { RouteParameters } from "../../../../domain/page/route.ts"
import { pageState, replaceParameters } from "../../connection/store.ts"
import { useReplies } from "../../connection/useReplies.ts"
import { computerCommand, Empty } from "../../parts/Empty.tsx"
import { Name } from "../../parts/Text.tsx"
import { VirtualList } from "../../parts/VirtualList.tsx"
import { ToolNotes } from "../tools/ToolNotes.tsx"

/** Fetches the prompts of all Computers of an office. Computers announce changes of prompts as those of tools. */
const useOfficePrompts = (address: OfficeAddress) => {
  const state = pageState.value
  const { computers } = findOffice(state, address)
  const updatesOf = (computer: string, part: string): number => state.updates.get(partKey(address, computer, part)) ?? 0
  const replies = useReplies<"SendMcpRequest">(
    computers.map(({ name, sid }) => ({
      key: name,
      version: [state.stream, sid, updatesOf(name, "toolList"), updatesOf(name, "config")].join(" "),
      command: { _tag: "SendMcpRequest", ...address, computer: name, method: "servers/list", params: {} }
    }))
  )
  const fetched = computers.map(({ name }) => ({ computer: name, ...replies.get(name) }))
  return {
    prompts: fetched.flatMap(({ computer, reply }) =>
      (reply === undefined ? [] : promptsIn(reply.result)).map((prompt, index): ComputerPrompt => {
        const key = JSON.stringify([computer, prompt.server, prompt.name, index])
        return { key, computer, prompt }
      })
    ),
    isLoading: fetched.some(({ error, reply }) => reply === undefined && error === undefined),
    errors: fetched.flatMap(({ computer, error }) => (error === undefined ? [] : [{ computer, error }]))
  }
}

interface PromptsViewProps {
  readonly address: OfficeAddress
  readonly parameters: RouteParameters
}

/** The prompts of all MCP servers of an office, and the messages of one. */
export const PromptsView = ({ address, parameters }: PromptsViewProps) => {
  const { errors, isLoading, prompts } = useOfficePrompts(address)
  const chosen = prompts.find(
    ({ computer, prompt }) =>
      prompt.name === parameters["prompt"] &&
      prompt.server === parameters["server"] &&
      computer === parameters["computer"]
  )
  const select = ({ computer, prompt: { name, server } }: ComputerPrompt) =>
    replaceParameters({ prompt: name, server, computer })
  return (
    <>
      <ToolNotes errors={errors} starting={[]} />
      {isLoading && (
        <p role="status" class="note">
          loading
        </p>
      )}
      {prompts.length === 0 && !isLoading && (
        <Empty command={computerCommand(address.office)}>
          No MCP server of this office offers prompts. The configuration of a Computer names its MCP servers:
        </Empty>
      )}
      {prompts.length > 0 && (
        <div class="columns">
          <VirtualList
            label="Prompts"
            items={prompts}
            keyOf={({ key }) => key}
            selected={chosen?.key}
            onSelect={select}
          >
            {({ computer, prompt }) => (
              <>
                <span class="grow">
                  <Name of={prompt.name} />{" "}
                  <span class="note">
                    <Name of={prompt.description} length={120} />
                  </span>
                </span>
                <span class="tag">
                  <Name of={computer} length={40} />
                </span>
              </>
            )}
          </VirtualList>
          <section class="card" aria-label="Prompt">
            {chosen === undefined ? (
              <p class="note">Choose a prompt to get its messages.</p>
            ) : (
              <PromptForm key={chosen.key} address={address} chosen={chosen} />
            )}
          </section>
        </div>
      )}
    </>
  )
}
