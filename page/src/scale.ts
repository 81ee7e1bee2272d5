/** An error that is coloured as much as any can be, in rad or m: the default tolerance at a goal. */
export const ERROR_SCALE = 0.1;
