// What a Grafana registers when it starts: the settings that fields have, and the transformations.
import {
  FieldType,
  dataLinksOverrideProcessor,
  displayNameOverrideProcessor,
  identityOverrideProcessor,
  numberOverrideProcessor,
  standardEditorsRegistry,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  stringOverrideProcessor,
  thresholdsOverrideProcessor,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
} from "@grafana/data";

const SETTINGS = {
  unit: unitOverrideProcessor,
  min: numberOverrideProcessor,
  max: numberOverrideProcessor,
  decimals: numberOverrideProcessor,
  displayName: displayNameOverrideProcessor,
  color: identityOverrideProcessor,
  noValue: stringOverrideProcessor,
  links: dataLinksOverrideProcessor,
  mappings: valueMappingsOverrideProcessor,
  thresholds: thresholdsOverrideProcessor,
};
// Nobody edits a panel here.
const nothing = () => null;

export function registerAll() {
  standardEditorsRegistry.setInit(() => []);
  standardFieldConfigEditorRegistry.setInit(() =>
    Object.entries(SETTINGS).map(([id, process]) => ({
      id,
      path: id,
      name: id,
      description: id,
      editor: nothing,
      override: nothing,
      process,
      shouldApply: id === "thresholds" ? (field) => field.type === FieldType.number : () => true,
    })),
  );
  const each = new Map(Object.values(standardTransformers).map((info) => [info.id, info])); // some have two names
  standardTransformersRegistry.setInit(() =>
    [...each.values()].map((info) => ({
      id: info.id,
      name: info.name,
      transformation: () => Promise.resolve(info),
      editor: nothing,
    })),
  );
}
