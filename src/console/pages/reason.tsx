import { longestReason } from '../../exports/rules/site-export.ts';

/** A field for a person's own words. */
export function Reason({ id, label }: { id: string; label: string }) {
  return (
    <div class="field">
      <label for={id}>{`${label} (optional)`}</label>
      <input id={id} type="text" name="reason" maxlength={longestReason} autocomplete="off" />
    </div>
  );
}
