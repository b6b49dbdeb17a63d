import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { promptsIn } from "../../../../domain/page/prompts.ts"
import type { RouteParameters } from "../../../../domain/page/route.ts"
import { replaceParameters } from "../../connection/store.ts"
import { useComputerReplies } from "../../connection/useComputerReplies.ts"
import { exampleCommand, Empty } from "../../parts/Empty.tsx"
import { Name } from "../../parts/Text.tsx"
import { VirtualList } from "../../parts/VirtualList.tsx"
import { ToolNotes } from "../tools/ToolNotes.tsx"
import { type ComputerPrompt, PromptForm } from "./PromptForm.tsx"

interface PromptsViewProps {
  readonly address: OfficeAddress
  readonly parameters: RouteParameters
}

/** The prompts of all MCP servers of an office, and the messages of one. */
export const PromptsView = ({ address, parameters }: PromptsViewProps) => {
  const { errors, isLoading, replies } = useComputerReplies<"SendMcpRequest">(address, (computer) => ({
    _tag: "SendMcpRequest",
    ...address,
    computer,
    method: "servers/list",
    params: {}
  }))
  const prompts = replies.flatMap(({ computer: { name: computer }, reply }) =>
    promptsIn(reply.result).map((prompt, index): ComputerPrompt => {
      const key = JSON.stringify([computer, prompt.server, prompt.name, index])
      return { key, computer, prompt }
    })
  )
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
        <Empty command={exampleCommand(address.office)}>
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
