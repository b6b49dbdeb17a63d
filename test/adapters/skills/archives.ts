import { gzipSync } from "node:zlib"
import { Effect, Stream } from "effect"
import { Tar, Zip } from "effect/encoding"

const concatenate = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => Buffer.concat(chunks)

/** Makes the bytes of a ZIP archive. */
export const zipOf = (entries: ReadonlyArray<Zip.ContentEntry>): Effect.Effect<Uint8Array> =>
  Stream.fromIterable(entries).pipe(
    Stream.pipeThroughChannel(Zip.encode()),
    Stream.runCollect,
    Effect.map(concatenate),
    Effect.orDie
  )

/** Makes the bytes of a tar archive. */
const tarOf = (entries: ReadonlyArray<Tar.Entry>): Effect.Effect<Uint8Array> =>
  Stream.fromIterable(entries).pipe(
    Stream.pipeThroughChannel(Tar.encode()),
    Stream.runCollect,
    Effect.map(concatenate),
    Effect.orDie
  )

/** Makes the bytes of a compressed tar archive. */
export const tarGzOf = (entries: ReadonlyArray<Tar.Entry>): Effect.Effect<Uint8Array> =>
  Effect.map(tarOf(entries), (bytes) => gzipSync(bytes))

/** The offset of a number in the header of a tar entry, and where its checksum is. */
const checksumOffset = 148
const checksumLength = 8

/** Replaces the path of the first entry of a tar archive, which the encoder would reject. */
export const tarGzWithPath = (path: string): Effect.Effect<Uint8Array> =>
  Effect.map(tarOf([Tar.file("x".repeat(path.length), "1")]), (bytes) => {
    const header = Buffer.from(bytes)
    header.write(path, 0, "utf8")
    header.fill(" ", checksumOffset, checksumOffset + checksumLength)
    const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, checksumOffset, "latin1")
    return gzipSync(header)
  })

/** Replaces the path of the only entry of a ZIP archive, which the encoder would reject. */
export const zipWithPath = (path: string): Effect.Effect<Uint8Array> =>
  Effect.map(zipOf([Zip.file("x".repeat(path.length), "1")]), (bytes) => {
    const text = Buffer.from(bytes).toString("latin1").replaceAll("x".repeat(path.length), path)
    return Buffer.from(text, "latin1")
  })

/** Makes a ZIP archive whose only entry is a link: its kind is in the upper half of its attributes. */
export const zipWithLink: Effect.Effect<Uint8Array> = Effect.map(zipOf([Zip.file("link", "/etc/passwd")]), (bytes) => {
  const archive = Buffer.from(bytes)
  const central = archive.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]))
  archive.writeUInt16LE(0o120777, central + 40)
  return archive
})
