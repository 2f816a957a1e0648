/** Names of a table's columns; after them one for what can be done with a line, where the viewer may act. */
export function TableHead({ columns, acts = false }: { columns: readonly string[]; acts?: boolean }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th scope="col">{column}</th>
        ))}
        {acts && (
          <th scope="col">
            <span class="unseen">actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}
