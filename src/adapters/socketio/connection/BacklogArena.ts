/** Unread bytes of a connection, from which on further ones are kept in its {@link BacklogArena}. */
export const minArenaBacklog = 1024 * 1024

/** Bytes of a block: its mapping costs more than the copy of a short frame, and a process may have 65,530 mappings. */
const blockBytes = 1024 * 1024

interface Block {
  readonly memory: ArrayBuffer
  usedBytes: number
  /** Frames that are not released. */
  frames: number
}

/** A copy of a frame, and the function that frees it: from then on `bytes` is empty. */
export interface StoredFrame {
  readonly bytes: Buffer
  readonly release: () => void
}

/** Maps memory; `undefined` where the system has none left. */
const mapBlock = (bytes: number): Block | undefined => {
  try {
    // V8 maps resizable memory by itself. The allocator of glibc would keep the freed memory of a long queue.
    return { memory: new ArrayBuffer(bytes, { maxByteLength: bytes }), usedBytes: 0, frames: 0 }
  } catch {
    return undefined
  }
}

/**
 * Memory of the frames that wait for one slow reader. The system gets it back as soon as the frames of a block are
 * released, and otherwise when they are garbage.
 */
export class BacklogArena {
  #block: Block | undefined

  /** Copies the parts of a frame, `length` bytes together; `undefined` when there is no memory to map. */
  store(parts: ReadonlyArray<Buffer>, length: number): StoredFrame | undefined {
    const block = this.#blockFor(length)
    if (block === undefined) return undefined
    const bytes = Buffer.from(block.memory, block.usedBytes, length)
    let at = 0
    for (const part of parts) at += part.copy(bytes, at)
    block.usedBytes += length
    block.frames += 1
    let isReleased = false
    return {
      bytes,
      release: () => {
        if (isReleased) return
        isReleased = true
        block.frames -= 1
        if (block.frames > 0) return
        if (this.#block === block) this.#block = undefined
        block.memory.transfer(0)
      }
    }
  }

  #blockFor(length: number): Block | undefined {
    const hasRoom = this.#block !== undefined && this.#block.usedBytes + length <= this.#block.memory.byteLength
    if (!hasRoom) this.#block = mapBlock(Math.max(blockBytes, length))
    return this.#block
  }
}
