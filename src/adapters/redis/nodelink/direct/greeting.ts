import { timingSafeEqual } from "node:crypto"

export const secretBytes = 32

/** Secret, id of the connection, length of the name of the connecting node, and the name. */
const minGreetingBytes = secretBytes + 4 + 1

export const encodeGreeting = (secret: Buffer, id: number, node: string): Buffer => {
  const name = Buffer.from(node)
  const greeting = Buffer.alloc(minGreetingBytes + name.length)
  secret.copy(greeting)
  greeting.writeUInt32BE(id, secretBytes)
  greeting.writeUInt8(name.length, secretBytes + 4)
  name.copy(greeting, minGreetingBytes)
  return greeting
}

/** Reads a greeting: `undefined` when more bytes are needed, and `invalid` when they cannot make it one. */
export const decodeGreeting = (bytes: Buffer, secret: Buffer) => {
  if (bytes.length < minGreetingBytes) return undefined
  if (!timingSafeEqual(bytes.subarray(0, secretBytes), secret)) return "invalid"
  const end = minGreetingBytes + bytes.readUInt8(secretBytes + 4)
  if (bytes.length < end) return undefined
  if (bytes.length > end || end === minGreetingBytes) return "invalid"
  return { id: bytes.readUInt32BE(secretBytes), node: bytes.toString("utf8", minGreetingBytes, end) }
}
