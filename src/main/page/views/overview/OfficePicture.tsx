import type { ComponentChildren } from "preact"
import { drawOffice } from "../../../../domain/page/officePicture.ts"
import type { PageMember } from "../../../../domain/page/PageEvent.ts"
import type { OfficeSummary } from "../../../../domain/page/offices.ts"
import { officeHash, officesHash } from "../../../../domain/page/route.ts"
import { formatCount, formatNumberOf, formatRate } from "../../../../domain/text/format.ts"
import { pageState, session, useServerTime } from "../../connection/store.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Name } from "../../parts/Text.tsx"

/** How often the picture follows the time, in milliseconds. */
const tick = 1_000

type Picture = ReturnType<typeof drawOffice>
type ComputerNode = Picture["computers"][number]

/** The class of the line to a member, by the calls that pass it. */
const lineOf = ({ ended, running, waiting }: Picture["agents"][number]): string =>
  `line ${running + ended > 0 ? "flow" : waiting > 0 ? "waiting" : ""}`

/** What a member does, in words. */
const describe = ({ failed, running, waiting }: Picture["agents"][number], calm: string): string =>
  Object.entries({ waiting, running, failed })
    .flatMap(([word, count]) => (count > 0 ? [`${formatCount(count)} ${word}`] : []))
    .join(", ") || calm

const linkOf = (member: PageMember): string => officeHash(member, "overview", { [member.role]: member.name })

interface NodeProps {
  readonly icon: Parameters<typeof Icon>[0]["of"]
  readonly tone: string
  /** Missing for an empty place. */
  readonly href?: string
  readonly title: ComponentChildren
  readonly children?: ComponentChildren
  readonly isChosen?: boolean
}

const Node = ({ children, href, icon, isChosen = false, title, tone }: NodeProps) => (
  <a
    class={`row nowrap node tone-${tone}`}
    {...(href !== undefined && { href })}
    {...(isChosen && { "aria-current": "true" as const })}
  >
    <Icon of={icon} />
    <span class="grow">
      <strong>{title}</strong>
      <span class="note">{children}</span>
    </span>
  </a>
)

const ComputerItem = ({ isChosen, node }: { readonly node: ComputerNode; readonly isChosen: boolean }) => {
  const failing = node.parts.filter(({ tone }) => tone === "bad").length
  return (
    <li class={lineOf(node)}>
      <Node
        icon="computer"
        tone={node.tone}
        href={linkOf(node.member)}
        title={<Name of={node.member.name} length={60} />}
        isChosen={isChosen}
      >
        {describe(node, failing === 0 ? "Computer" : `${formatCount(failing)} not running`)}
      </Node>
      {node.parts.length > 0 && (
        <ul class="plain tree">
          {node.parts.map(({ kind, name, state, tone }) => (
            <li key={`${kind} ${name}`} class={`line ${tone}`}>
              <a class={`row nowrap node part tone-${tone}`} href={linkOf(node.member)}>
                <Icon of={kind} />
                <span class="grow">
                  <Name of={name} length={60} />
                </span>
                <span class={tone}>
                  <Name of={state} length={40} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

/** The Computers that share a node, as a list on demand. */
const OtherComputers = ({ others }: Pick<Picture, "others">) => (
  <li class={`line ${others.some(({ ended, running }) => ended + running > 0) ? "flow" : ""}`}>
    <details class="node">
      <summary>{formatNumberOf(others.length, "more Computer")}</summary>
      <ul class="plain">
        {others.map(({ member, tone }) => (
          <li key={member.sid}>
            <a href={linkOf(member)} class={`dot ${tone}`}>
              <Name of={member.name} length={60} />
            </a>
          </li>
        ))}
      </ul>
    </details>
  </li>
)

interface OfficePictureProps {
  readonly office: OfficeSummary
  /** The names of the chosen Agent and Computer. */
  readonly agent: string | undefined
  readonly computer: string | undefined
}

/** The office as a tree of links, with lines on which its calls move. */
export const OfficePicture = ({ agent, computer, office }: OfficePictureProps) => {
  const { agents, computers, others } = drawOffice(pageState.value, office, useServerTime(tick))
  const isOnlyOffice = session.value?.office !== undefined
  return (
    <div class="row nowrap picture card">
      <ul class="plain agents" aria-label="Agents">
        {agents.map((node) => (
          <li key={node.member.sid} class={lineOf(node)}>
            <Node
              icon="agent"
              tone={node.waiting > 0 ? "waiting" : "good"}
              href={linkOf(node.member)}
              title={<Name of={node.member.name} length={60} />}
              isChosen={node.member.name === agent}
            >
              {describe(node, "Agent")}
            </Node>
          </li>
        ))}
        {agents.length === 0 && (
          <li class="line idle">
            <Node icon="agent" tone="idle" title="No Agent" />
          </li>
        )}
      </ul>
      <Node icon="relay" tone="good" href={isOnlyOffice ? officeHash(office, "overview") : officesHash} title="Server">
        {formatRate(office.callsPerSecond)}
      </Node>
      <ul class="plain tree" aria-label="Computers">
        {computers.map((node) => (
          <ComputerItem key={node.member.sid} node={node} isChosen={node.member.name === computer} />
        ))}
        {others.length > 0 && <OtherComputers others={others} />}
        {computers.length === 0 && (
          <li class="line idle">
            <Node icon="computer" tone="idle" title="No Computer" />
          </li>
        )}
      </ul>
    </div>
  )
}
