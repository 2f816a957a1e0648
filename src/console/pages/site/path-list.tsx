import { countText } from '../../../model/quantities.ts';
import { Foreign } from '../parts.tsx';

/** Paths under a line that opens and closes them; nothing for none. */
export function PathList({ id, title, paths, all }: { id: string; title: string; paths: string[]; all: number }) {
  if (all === 0) return null;
  return (
    <details id={id} open={paths.length <= 20}>
      <summary>{title}</summary>
      <ul>
        {paths.map((path) => (
          <li>
            <code>
              <Foreign text={path} />
            </code>
          </li>
        ))}
        {all > paths.length && <li class="quiet">{`and ${countText(all - paths.length)} more`}</li>}
      </ul>
    </details>
  );
}
