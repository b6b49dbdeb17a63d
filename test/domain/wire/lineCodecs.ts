import { Result } from "effect"
import type { ProtocolLine } from "../../../src/domain/wire/ProtocolLine.ts"
import { notificationEvents } from "../../../src/domain/wire/v0_2/notifications.ts"

export const directions = ["request", "reply", "notification"] as const

export interface Codec {
  readonly decode: (message: unknown) => Result.Result<unknown, string>
  readonly encode: (value: never) => unknown
  /** True when it decodes every message. */
  readonly isTotal?: true
}
export type Codecs = { readonly [D in (typeof directions)[number]]?: Codec | undefined }

const membershipAck = (line: ProtocolLine): Codec => ({
  decode: (values) =>
    Result.match(line.decodeMembershipAck(values as ReadonlyArray<unknown>), {
      onFailure: (reason) => Result.succeed({ accepted: false, reason }),
      onSuccess: () => Result.succeed({ accepted: true })
    }),
  encode: ({ accepted, reason: message = "" }: { readonly accepted: boolean; readonly reason?: string }) =>
    line.encodeMembershipAck(accepted ? Result.succeed(undefined) : Result.fail({ message })),
  isTotal: true
})

/** Members read no more than the event. */
const replacement = (line: ProtocolLine): Codec => ({
  decode: Result.succeed,
  encode: ({ reason }: { readonly reason: string }) => line.encodeReplaced(reason).body,
  isTotal: true
})

/** The codecs of all events in the table of a line. */
export const codecsOf = (line: ProtocolLine): ReadonlyArray<readonly [event: string, codecs: Codecs]> => {
  const { callStatus, cancel, serverRequests, updates } = line
  const calls = Object.values(line.calls).filter((call) => call !== undefined)
  const notifications = [...Object.values(notificationEvents), ...Object.values(updates).map((one) => one.notification)]
  return [
    ...calls.flatMap((call) => [call.event, ...call.aliases].map((event) => [event, call] as const)),
    ...Object.values(serverRequests).map(
      (one) => [one.event, "reply" in one ? one : { request: one.request, reply: membershipAck(line) }] as const
    ),
    ...[cancel, ...Object.values(updates)].map(({ event, request }) => [event, { request }] as const),
    [callStatus.event, { request: callStatus.request, reply: callStatus.waitAck }],
    [callStatus.notification, { notification: { decode: line.decodeCallStatus, encode: line.encodeCallStatus } }],
    [line.replacedEvent, { notification: replacement(line) }],
    ...notifications.map((event) => {
      const decode = (message: unknown) => line.decodeNotification(event, message)
      const encode = (value: never) => line.encodeNotification(value).body
      return [event, { notification: { decode, encode } }] as const
    })
  ]
}
