import { countText } from '../../rules/quantities.ts';
import { Foreign, pagePath } from './parts.tsx';

/** Paths under a line that opens and closes them; nothing for none. */
export function PathList({
  id,
  title,
  paths,
  all,
  addressOf = () => null,
}: {
  id: string;
  title: string;
  paths: string[];
  all: number;
  /** Where more is said of a path; null for nowhere. */
  addressOf?: (path: string) => string | null;
}) {
  if (all === 0) return null;
  return (
    <details id={id} open={paths.length <= 20}>
      <summary>{title}</summary>
      <ul>
        {paths.map((path) => (
          <li>
            <code>
              <Path path={path} address={addressOf(path)} />
            </code>
          </li>
        ))}
        {all > paths.length && <li class="quiet">{`and ${countText(all - paths.length)} more`}</li>}
      </ul>
    </details>
  );
}

function Path({ path, address }: { path: string; address: string | null }) {
  const name = <Foreign text={pagePath(path)} />;
  return address === null ? name : <a href={address}>{name}</a>;
}
