/** How a call at a Server ends, once. Until then it waits for the reply of its Computer. */
export type CallEnd =
  /** By a reply that its caller can take. */
  | "Replied"
  /** By an error: its time is over, the link of the Computer has closed, or its reply is unusable. */
  | "Failed"
  /** By the Server: one of its members has left the office, or an operator has cancelled it. */
  | "Aborted"
  /** Its caller does not wait any more: it has disconnected. */
  | "Abandoned"

export type RoutedCallCommand =
  /** Drops the request, whose reply may still arrive. */
  | "DropRequest"
  /** Frees the places that the call has in the limits. */
  | "Release"
  /** Reports the outcome to the observers. */
  | "Report"
  /** Notifies the Computer that the caller does not wait any more. */
  | "CancelAtComputer"
  /** Gives the outcome to the caller. */
  | "Reply"

/** What the Server does at the end of a call. */
export const endCommands: { readonly [End in CallEnd]: ReadonlyArray<RoutedCallCommand> } = {
  Replied: ["Release", "Report", "Reply"],
  Failed: ["Release", "Report", "CancelAtComputer", "Reply"],
  Aborted: ["DropRequest", "Release", "Report", "CancelAtComputer", "Reply"],
  Abandoned: ["DropRequest", "Release", "Report", "CancelAtComputer"]
}
