import { connect, type Socket } from "node:net"
import * as tls from "node:tls"
import { Deferred, Effect, Exit } from "effect"
import {
  AdmissionRejected,
  type ConnectError,
  type Link,
  type TransportClient,
  Unreachable
} from "../../../application/ports/Transport.ts"
import { asObject, asString } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { decodeControl, decodeFrame, frameKinds } from "./frames.ts"
import { openTimeout, connectionOptions, type TcpAddress, TcpConnection, tlsOptions } from "./TcpConnection.ts"
import { TcpMessageLink } from "./TcpMessageLink.ts"

const openSocket = ({ host, key, port }: TcpAddress, onOpen: () => void): Socket => {
  if (host.startsWith("/")) return connect(host, onOpen)
  if (key === undefined) return connect({ host, port, ...connectionOptions }, onOpen)
  const pskCallback = () => ({ identity: "a2c", psk: key })
  const socket = tls.connect({ host, port, ...tlsOptions, pskCallback, checkServerIdentity: () => undefined }, onOpen)
  return socket.setNoDelay(true)
}

const rejectionOf = (frame: Buffer): AdmissionRejected => {
  const { code, message, reason, retryable } = asObject(decodeControl(frame))
  return new AdmissionRejected({
    code: Number(code),
    message: asString(message) ?? "",
    ...definedOnly({ reason: asString(reason) }),
    ...(retryable === true && { retryable })
  })
}

/** Connects to a server over TCP, as {@link TransportClient} does. */
export const connectTcp = (
  address: TcpAddress,
  { auth, onMessage, version }: Parameters<TransportClient["Service"]["connect"]>[0]
): ReturnType<TransportClient["Service"]["connect"]> =>
  Effect.gen(function* () {
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const opened = yield* Deferred.make<Link, ConnectError>()
    let link: TcpMessageLink | undefined
    const fail = (reason: string) =>
      new Unreachable({ message: `Cannot reach ${address.host}:${address.port}: ${reason}` })
    const onAccepted = (frame: Buffer) => {
      const { id, maxBytes } = asObject(decodeControl(frame))
      const limit = typeof maxBytes === "number" ? maxBytes : Number.POSITIVE_INFINITY
      link = new TcpMessageLink(asString(id) ?? "", connection, limit, { runFork, onBacklogChange: () => undefined })
      connection.liftLimit()
      link.startReceiving(onMessage)
      Deferred.doneUnsafe(opened, Exit.succeed(link))
      return true
    }
    const onFrame = (frame: Buffer): boolean => {
      if (frame[0] === frameKinds.close) {
        connection.destroy(asString(asObject(decodeControl(frame))["reason"]) ?? "server_disconnect")
        return true
      }
      if (link !== undefined) {
        const message = decodeFrame(frame)
        return message !== undefined && link.onPacket(message) === "accepted"
      }
      if (frame[0] === frameKinds.accept) return onAccepted(frame)
      if (frame[0] !== frameKinds.reject) return false
      Deferred.doneUnsafe(opened, Exit.fail(rejectionOf(frame)))
      return true
    }
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => openSocket(address, () => connection.control(frameKinds.connect, { auth, version }))),
      () =>
        Effect.suspend(() => {
          connection.end("client_disconnect")
          return link?.markClosed("client_disconnect") ?? Effect.void
        })
    )
    const connection = new TcpConnection(socket, {
      onFrame,
      onClose: (reason) => {
        Deferred.doneUnsafe(opened, Exit.fail(fail(reason)))
        if (link !== undefined) runFork(link.markClosed(reason))
      }
    })
    return yield* Deferred.await(opened).pipe(
      Effect.timeoutOrElse({ duration: openTimeout, orElse: () => Effect.fail(fail("it does not answer")) })
    )
  })
