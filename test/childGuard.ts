import { type ChildProcess, spawn } from "node:child_process"
import { Socket } from "node:net"

/** Waits for a line and kills the process with this id when the pipe ends without one. */
const script = 'read -r released || kill -9 "$0"'

/**
 * Kills a child process when this process ends, even by `kill -9`, and even when the child is stopped. The child must
 * detect that for its own children.
 *
 * A shell outside the process group of the terminal holds the other end of a pipe, which the system closes with this
 * process.
 */
export const guardChild = <Child extends ChildProcess>(child: Child): Child => {
  const { pid } = child
  if (pid === undefined) return child
  const shell = spawn("sh", ["-c", script, String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true
  })
  // Without a shell the usual ways to end the child remain.
  shell.on("error", () => undefined)
  shell.stdin.on("error", () => undefined)
  child.once("exit", () => shell.stdin.end("\n"))
  // The shell must not keep this process alive.
  shell.unref()
  if (shell.stdin instanceof Socket) shell.stdin.unref()
  return child
}
