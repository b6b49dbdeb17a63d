const names: { readonly [name: string]: number } = { stdin: 0, stdout: 1, stderr: 2 }

/** The descriptor of this process that a path such as `/dev/stdout` or `/dev/fd/9` names. */
export const descriptorOf = (file: string): number | undefined => {
  const [, name, digits] = /^\/(?:dev\/(std(?:in|out|err))|(?:dev|proc\/self)\/fd\/(\d+))$/.exec(file) ?? []
  return name === undefined ? (digits === undefined ? undefined : Number(digits)) : names[name]
}
