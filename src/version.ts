/** Version of this package, as in package.json; a test keeps the two together. */
export const version = "0.1.0"
