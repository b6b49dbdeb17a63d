import type { ComponentChildren } from "preact"
import { drawOffice, roleNames } from "../../../../domain/page/officePicture.ts"
import type { PageMember } from "../../../../domain/page/PageEvent.ts"
import type { OfficeSummary } from "../../../../domain/page/offices.ts"
import { officeHash, officesHash, type OfficeRoute } from "../../../../domain/page/route.ts"
import { formatCount, formatNumberOf, formatRate } from "../../../../domain/text/format.ts"
import { pageState, session, useServerTime } from "../../connection/store.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Name } from "../../parts/Text.tsx"

/** How often the picture follows the time, in milliseconds. */
const tick = 1_000

type Picture = ReturnType<typeof drawOffice>
type MemberNode = Picture["computers"][number]

/** The class of the line to a member, by the calls that pass it. */
const lineOf = ({ ended, running, waiting }: MemberNode): string =>
  `line ${running + ended > 0 ? "flow" : waiting > 0 ? "waiting" : ""}`

/** What a member does, in words. */
const describe = ({ failed, member, parts, running, waiting }: MemberNode): string => {
  const failing = parts.filter(({ tone }) => tone === "bad").length
  const calls = Object.entries({ waiting, running, failed }).filter(([, count]) => count > 0)
  if (calls.length > 0) return calls.map(([word, count]) => `${formatCount(count)} ${word}`).join(", ")
  return failing > 0 ? `${formatCount(failing)} not running` : roleNames[member.role]
}

const linkOf = (member: PageMember): string => officeHash(member, "overview", { [member.role]: member.name })

interface NodeProps {
  readonly icon: Parameters<typeof Icon>[0]["of"]
  readonly tone: string
  /** Missing for an empty place. */
  readonly href?: string
  readonly title: string
  readonly children?: ComponentChildren
  readonly isChosen?: boolean
}

const Node = ({ children, href, icon, isChosen = false, title, tone }: NodeProps) => (
  <a class={`row nowrap node tone-${tone}`} {...(href && { href })} aria-current={isChosen ? "true" : undefined}>
    <Icon of={icon} />
    <span class="grow">
      <strong>
        <Name of={title} length={60} />
      </strong>
      <span class="note">{children}</span>
    </span>
  </a>
)

const MemberItem = ({ isChosen, node }: { readonly node: MemberNode; readonly isChosen: boolean }) => {
  const { member, parts, tone } = node
  return (
    <li class={lineOf(node)}>
      <Node icon={member.role} tone={tone} href={linkOf(member)} title={member.name} isChosen={isChosen}>
        {describe(node)}
      </Node>
      {parts.length > 0 && (
        <ul class="plain tree">
          {parts.map(({ kind, name, state, tone }) => (
            <li key={`${kind} ${name}`} class={`line ${tone}`}>
              <a class={`row nowrap node part tone-${tone}`} href={linkOf(member)}>
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

interface MembersProps extends Pick<OfficeRoute, "parameters"> {
  readonly role: PageMember["role"]
  readonly nodes: ReadonlyArray<MemberNode>
  /** Further items. */
  readonly children?: ComponentChildren
}

const Members = ({ children, nodes, parameters, role }: MembersProps) => (
  <ul class={role === "agent" ? "plain agents" : "plain tree"} aria-label={`${roleNames[role]}s`}>
    {nodes.map((node) => (
      <MemberItem key={node.member.sid} node={node} isChosen={node.member.name === parameters[role]} />
    ))}
    {children}
    {nodes.length === 0 && (
      <li class="line idle">
        <Node icon={role} tone="idle" title={`No ${roleNames[role]}`} />
      </li>
    )}
  </ul>
)

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

interface OfficePictureProps extends Pick<OfficeRoute, "parameters"> {
  readonly office: OfficeSummary
}

/** The office as a tree of links, with lines on which its calls move. */
export const OfficePicture = ({ office, parameters }: OfficePictureProps) => {
  const { agents, computers, others } = drawOffice(pageState.value, office, useServerTime(tick))
  const isOnlyOffice = session.value?.office !== undefined
  return (
    <div class="row nowrap picture card">
      <Members role="agent" nodes={agents} parameters={parameters} />
      <Node icon="relay" tone="good" href={isOnlyOffice ? officeHash(office, "overview") : officesHash} title="Server">
        {formatRate(office.callsPerSecond)}
      </Node>
      <Members role="computer" nodes={computers} parameters={parameters}>
        {others.length > 0 && <OtherComputers others={others} />}
      </Members>
    </div>
  )
}
