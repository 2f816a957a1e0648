interface Gate {
  open(): void;
  opened: Promise<void>;
}

/** Blocks its waiters until it is opened. */
export function gate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}
