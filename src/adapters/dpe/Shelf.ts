import type { Document } from "./resolver.ts"

/** Documents in memory, up to bounds: who puts one more loses the least recently made. */
export interface Shelf {
  /** Keeps a document under its id; the one of that id, if any, makes way. It must fit the bounds by itself. */
  readonly put: (id: string, document: Document, expiresAt: number) => void
  readonly find: (id: string) => Document | undefined
  /** Drops what has expired. Times are in milliseconds since 1970. */
  readonly expire: (now: number) => void
  readonly held: () => { readonly documents: number; readonly bytes: number }
}

/** A shelf for so many documents and bytes. */
export const makeShelf = (maxDocuments: number, maxBytes: number): Shelf => {
  /** Least recently made first. */
  const entries = new Map<string, { readonly document: Document; readonly expiresAt: number }>()
  let bytes = 0

  const drop = (id: string): void => {
    bytes -= entries.get(id)?.document.bytes.byteLength ?? 0
    entries.delete(id)
  }

  return {
    put: (id, document, expiresAt) => {
      drop(id)
      entries.set(id, { document, expiresAt })
      bytes += document.bytes.byteLength
      for (const oldest of entries.keys()) {
        if (entries.size <= maxDocuments && bytes <= maxBytes) return
        drop(oldest)
      }
    },
    find: (id) => entries.get(id)?.document,
    expire: (now) => {
      for (const [id, { expiresAt }] of entries) if (expiresAt <= now) drop(id)
    },
    held: () => ({ documents: entries.size, bytes })
  }
}
