const height = 20
const barWidth = 2

/** Calls in each of the last seconds as bars. */
export const Sparkline = ({ values }: { readonly values: ReadonlyArray<number> }) => {
  const max = Math.max(1, ...values)
  const label = `calls per second in the last minute, at most ${Math.max(0, ...values)}`
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${values.length * barWidth} ${height}`}
      width={values.length * barWidth}
      height={height}
    >
      {values.map((value, index) => {
        const size = value === 0 ? 1 : Math.max(2, (value / max) * height)
        return (
          <rect
            key={index}
            x={index * barWidth}
            y={height - size}
            width={barWidth - 0.5}
            height={size}
            class={value === 0 ? "idle" : "busy"}
          />
        )
      })}
    </svg>
  )
}
