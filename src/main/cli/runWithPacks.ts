import "./run.ts"
